"""What the recorded samples hold; needs numpy only, since LeRobot's own environment reads it too."""

import numpy as np

FPS = 10
CAMERA = "observation.images.front"
LENGTHS = (4, 7, 5)


def features(camera):
    """camera: "video" or "image"."""
    return {
        "observation.state": {"dtype": "float32", "shape": (3,), "names": ["x", "y", "z"]},
        "action": {"dtype": "float32", "shape": (2,), "names": {"motors": ["dx", "dy"]}},
        "next.success": {"dtype": "bool", "shape": (1,), "names": None},
        CAMERA: {"dtype": camera, "shape": (64, 64, 3), "names": ["height", "width", "channels"]},
    }


def frame(episode, step):
    return {
        "observation.state": np.array([episode, step, episode / 7 - step / 3], np.float32),
        "action": np.array([step / 10, -episode / 10], np.float32),
        "next.success": np.array([step == LENGTHS[episode] - 1]),
        CAMERA: np.full((64, 64, 3), level(episode, step), np.uint8),
    }


def level(episode, step):
    """Brightness of the picture: tells every frame from every other one, whatever a codec does to it."""
    return 16 + 14 * (sum(LENGTHS[:episode]) + step)


def task(episode):
    return ("insert the peg", "take it out")[episode % 2]
