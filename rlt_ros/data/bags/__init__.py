"""Recorded runs (rosbag2, MCAP or sqlite3) read without ROS, and made into LeRobot datasets."""
