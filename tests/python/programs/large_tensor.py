import tensorflow as tf

# Attempt to allocate a large tensor that exceeds GPU memory
try:
    large_tensor = tf.random.normal((1024, 1024, 1024), dtype=tf.float32) # Adjust size to exceed your GPU memory
    print("Tensor allocated successfully on GPU")
except RuntimeError as e:
    print(f"Tensor allocation failed: {e}") # Exception handling is crucial for GPU memory errors
