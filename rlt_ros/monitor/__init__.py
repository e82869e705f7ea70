"""What a running robot is about to do and has done, as geometry for viewers."""
