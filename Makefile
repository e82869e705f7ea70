# Without a ROS distribution: `make demo` is all it takes. With one, use colcon; see README.md.
PYTHON ?= python3
ROS := standalone/run
# Training is for the default task of the simulated arm without a checkpoint; the launch file sees to anything else.
STAGE1 := $(if $(filter checkpoint:=% robot:=franka robot_config:=% task:=% --show-args,$(ARGS)),,--with-stage1)
TESTS ?= test
PYTEST_ARGS ?=

.PHONY: env demo test mutants bench bench-replay bench-control bench-operator bench-record faults machines sweep results lint clean

env:  ## virtual environment in .venv, with all interfaces compiled into it
	@$(PYTHON) standalone/environment

demo:  ## the whole loop on a simulated arm; ARGS="practice_minutes:=2 seed:=1" are launch arguments
	@$(PYTHON) standalone/environment $(STAGE1)
	$(ROS) ros2 launch rlt_ros stage2.launch.py $(ARGS)

test:  ## TESTS=test/rl narrows it down, PYTEST_ARGS="-k name" goes to pytest; as root on Debian it installs Chromium
	@$(PYTHON) standalone/environment --with-browser
	ROS_PYTHON_CHECK_FIELDS=1 $(ROS) python -m pytest $(PYTEST_ARGS) $(TESTS)

mutants: env  ## deliberate faults, each of which a test must find; ARGS="current_reference" tries some
	OMP_NUM_THREADS=1 $(ROS) python test/mutants/run.py $(ARGS)

bench: env  ## one JSON line per measurement; ARGS="--z 64 --threads 1" narrows it down
	$(ROS) python -m bench.updates $(ARGS)

bench-replay: env  ## the same for memory and time of the replay; some minutes, 3 GB of memory
	$(ROS) python -m bench.replay $(ARGS)

bench-record: env  ## what a recorder of bags costs and loses at two cameras; a minute
	$(ROS) python -m bench.record $(ARGS)

bench-control: env  ## set-points, presses and latency in real time, on an idle machine; a few minutes
	$(ROS) python -m bench.control $(ARGS)

bench-operator: env  ## from a press of each input to the graph, in real time, on an idle machine; two minutes
	$(ROS) python -m bench.operator_latency $(ARGS)

faults: env  ## each fault and the kill of each node in a running graph, 10 minutes; writes the tables of docs/faults.md
	-RLT_IDLE=1 RLT_FAULTS_OUT=$(or $(OUT),runs/faults) ROS_PYTHON_CHECK_FIELDS=1 $(ROS) python -m pytest -s $(PYTEST_ARGS) test/launch/test_faults.py test/launch/test_kills.py
	$(ROS) python -m bench.faults.report $(or $(OUT),runs/faults) --into docs/faults.md

machines: env  ## two network namespaces and a cable that is cut, two arms that feed one learner; as root, on an idle machine
	RLT_IDLE=1 ROS_PYTHON_CHECK_FIELDS=1 $(ROS) python -m pytest $(PYTEST_ARGS) test/launch/test_two_machines.py test/launch/test_several_robots.py

sweep: env  ## settings against each other, hours; goes on where it stopped. OUT=DIR, ARGS="--seeds 1,2 default utd_1"
	OMP_NUM_THREADS=1 $(ROS) python -m bench.sweep.run --out $(OUT) $(ARGS)

results: env  ## the paper's table in simulation, plan by plan; hours; goes on where it stopped. OUT=DIR, ARGS="--seeds 1,2"
	for plan in bench/results/*.yaml; do \
	  OMP_NUM_THREADS=1 $(ROS) python -m bench.sweep.run --plan $$plan --out $(OUT)/$$(basename $$plan .yaml) $(ARGS) || exit 1; \
	done
	for cell in $(OUT)/main/*/; do \
	  OMP_NUM_THREADS=1 $(ROS) python -m bench.robustness.run $$cell/seed*/ --out $(OUT)/robustness/$$(basename $$cell) || exit 1; \
	done

lint: env
	$(ROS) ruff check .

clean:  ## all that was built; the cache of trained checkpoints stays
	rm -rf .venv build install log .pytest_cache .ruff_cache
