"""Photographs the panel beside a run of the simulated arm, some minutes: python docs/images/panel.py FOLDER LABELS [ARGUMENT..].

Writes panel.png (1280 x 800) and panel-tablet.png (800 x 1280) in a critical phase after LABELS labelled ones. Needs
Chromium and Playwright. A run of its own is started, with arguments for its launch file such as checkpoint:=DIR, and
ended, in ROS domain ROS_DOMAIN_ID.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from playwright.sync_api import Page, sync_playwright

SETTINGS = Path(__file__).parents[2] / "config" / "stage2.yaml"
SIZES = {"panel": (1280, 800), "panel-tablet": (800, 1280)}
# As test/nodes/browser.py.
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
LARGER = {"image_width": 240, "image_height": 180}
"""Pictures in the shape of a camera's; what the policy sees of them is the same."""


def main(out: Path, labels: int, arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        processes = [run(Path(folder), arguments)]
        try:
            processes.append(panel(Path(folder)))
            for name, (width, height) in SIZES.items():
                page = chromium.new_page(viewport={"width": width, "height": height})
                page.goto(address(Path(folder) / "panel.log"))
                photograph(page, labels, out / f"{name}.png")
        except Exception:
            print((Path(folder) / "launch.log").read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            for process in processes:
                process.send_signal(signal.SIGINT)
            for process in processes:
                process.wait(60)
            chromium.close()


def run(folder: Path, arguments: list[str]) -> subprocess.Popen:
    settings = yaml.safe_load(SETTINGS.read_text())
    settings["/**/sim"] = {"ros__parameters": LARGER}
    file = folder / "params.yaml"
    file.write_text(yaml.safe_dump(settings))
    given = [f"params_file:={file}", f"run_dir:={folder / 'run'}", "practice_minutes:=60.0", *arguments]
    return start(["ros2", "launch", "rlt_ros", "stage2.launch.py", *given], folder / "launch.log")


def panel(folder: Path) -> subprocess.Popen:
    options = ["--ros-args", "-r", "__ns:=/rlt", "-p", "port:=0"]
    return start(["ros2", "run", "rlt_ros", "panel", *options], folder / "panel.log")


def start(command: list[str], log: Path) -> subprocess.Popen:
    with log.open("w") as out:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=dict(os.environ))


def address(log: Path) -> str:
    while not (found := re.search(r"panel: open (\S+)\n", log.read_text())):
        time.sleep(0.1)
    return found[1]


def photograph(page: Page, labels: int, file: Path) -> None:
    seen = "labels => Number(document.querySelector('[data-part=caption]')?.textContent.match(/\\d+/)) >= labels"
    critical = "() => document.querySelector('[data-part=phase]').textContent.startsWith('CRITICAL')"
    page.wait_for_function(seen, arg=labels, timeout=900_000)
    page.wait_for_function(critical, timeout=60_000)
    # Refused while it lasts, so the run goes on as if nobody had asked.
    page.locator("[data-press=reset]").click()
    page.wait_for_function("() => document.getElementById('answers').textContent.includes('refused')", timeout=10_000)
    page.wait_for_timeout(300)
    page.screenshot(path=file)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
