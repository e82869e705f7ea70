"""ROS nodes: parameters, topics and timers around the classes of the other packages. The only ROS code."""
