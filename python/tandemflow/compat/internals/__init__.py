"""tensorflow.python, of which programs import very little: client.device_lib."""
