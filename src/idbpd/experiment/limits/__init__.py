"""What is promised of limited tasks: calibration, the limits in training, certificates, and unseen data."""
