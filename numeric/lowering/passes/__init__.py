"""What stands between a schedule and its printer: one function of schedules to a file."""
