"""The package for pip: everything but the generated messages. In a ROS workspace CMakeLists.txt installs it."""

import runpy
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
MANIFEST = ElementTree.parse(ROOT / "package.xml").getroot()
EXECUTABLES = runpy.run_path(str(ROOT / "rlt_ros" / "entry_points.py"))
SCRIPTS = [f"{EXECUTABLES['console_script'](n)} = {target}" for n, target in EXECUTABLES["ENTRY_POINTS"].items()]

setup(
    name=MANIFEST.findtext("name"),
    version=MANIFEST.findtext("version"),
    description=" ".join(MANIFEST.findtext("description").split()),
    license=MANIFEST.findtext("license"),
    license_files=["LICENSE"],
    maintainer=MANIFEST.findtext("maintainer"),
    maintainer_email=MANIFEST.find("maintainer").get("email"),
    python_requires=">=3.10",
    packages=find_packages(include=["rlt_ros", "rlt_ros.*"]),
    package_data={"rlt_ros": ["**/*.yaml", "report/*.html", "operator/panel/static/*"]},
    install_requires=["numpy", "PyYAML", "scipy"],
    extras_require={
        "learn": ["torch", "safetensors", "tensorboard"],
        # Not with ROS: there pinocchio comes from the distribution.
        "robot": ["pin>=3"],
        "sim": ["mujoco", "pin>=3"],
        "data": ["pyarrow", "av"],
        "bags": ["pyarrow", "av", "rosbags"],
        "plots": ["matplotlib"],
        "report": ["matplotlib", "jinja2", "safetensors"],
        # 1.6 is LeRobot's lower bound too.
        "lerobot": ["torch", "safetensors", "huggingface-hub>=1.6"],
        "remote": ["msgpack>=1.0", "websockets>=15"],
        # Not with ROS: there OpenCV comes from the distribution, built against the distribution's numpy.
        "vision": ["opencv-python-headless<5", "Pillow"],
        "gpus": ["accelerate"],
        "viewer": ["rerun-sdk>=0.41,<0.42"],
        "console": ["textual>=8,<9"],
        # evdev reads the kernel's input devices; Linux only.
        "devices": ["evdev>=1.6"],
        # 3.0 is the first whose ui.html takes `sanitize`.
        "panel": ["nicegui>=3,<4"],
        "test": ["hypothesis", "playwright", "pyte", "pytest", "pytest-rerunfailures"],
    },
    entry_points={"console_scripts": SCRIPTS},
)
