"""Progress lines."""

from rlt_ros.token.progress import Progress


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_one_line_a_second_and_always_the_last():
    clock, lines = Clock(), []
    progress = Progress("vla", 20, clock, lines.append)
    for step in range(1, 21):
        clock.now += 0.25
        progress.update(step, f"loss {1 / step:.2f}")
    assert lines[0] == "stage1: vla 4/20 loss 0.25 4.0/s 4 s left"
    assert lines[-1] == "stage1: vla 20/20 loss 0.05 4.0/s 0 s left"
    assert len(lines) == 5


def test_no_time_and_no_note():
    lines = []
    Progress("token", 1, Clock(), lines.append).update(1)
    assert len(lines) == 1 and lines[0].startswith("stage1: token 1/1 ")
