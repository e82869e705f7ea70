"""The agent: networks, replay, learner, checkpoint. Knows no robot and no ROS."""
