# Without a ROS distribution: `make demo` is all it takes. With one, use colcon; see README.md.
PYTHON ?= python3
ROS := standalone/run
# Training is for the default task of the simulated arm without a checkpoint; the launch file sees to anything else.
STAGE1 := $(if $(filter checkpoint:=% robot:=franka robot_config:=% task:=% --show-args,$(ARGS)),,--with-stage1)
TESTS ?= test
PYTEST_ARGS ?=

.PHONY: env demo test lint clean

env:  ## virtual environment in .venv, with all interfaces compiled into it
	@$(PYTHON) standalone/environment

demo:  ## the whole loop on a simulated arm; ARGS="practice_minutes:=2 seed:=1" are launch arguments
	@$(PYTHON) standalone/environment $(STAGE1)
	$(ROS) ros2 launch rlt_ros stage2.launch.py $(ARGS)

test: env  ## TESTS=test/rl narrows it down, PYTEST_ARGS="-k name" goes to pytest
	ROS_PYTHON_CHECK_FIELDS=1 $(ROS) python -m pytest $(PYTEST_ARGS) $(TESTS)

lint: env
	$(ROS) ruff check .

clean:  ## all that was built; the cache of trained checkpoints stays
	rm -rf .venv build install log .pytest_cache .ruff_cache
