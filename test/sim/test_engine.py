from __future__ import annotations

import importlib.util
import os
import sys

import pytest

from rlt_ros.sim import engine


def test_missing_mujoco_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    spec = importlib.util.spec_from_file_location("engine_without_mujoco", engine.__file__)
    with pytest.raises(ImportError, match=r"pip install 'rlt_ros\[sim\]'"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_renderer_is_chosen_before_the_import() -> None:
    assert os.environ["MUJOCO_GL"]
