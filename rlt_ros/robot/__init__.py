"""Action space, Franka state and commands, safety. Knows no learning and no ROS."""
