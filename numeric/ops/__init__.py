"""The operations of Tensors, by family: functions, methods, operators and in-place forms."""
