"""TensorFlow's graphs and SavedModels: read as objects whose functions run TensorFlow's ops with ours."""
