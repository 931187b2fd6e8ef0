import tensorflow as tf
import time

# Ensure TensorFlow uses the GPU if available
if tf.config.list_physical_devices('GPU'):
    print("GPU is available. Using GPU.")
    device = "/GPU:0"
else:
    print("GPU is not available. Using CPU.")
    device = "/CPU:0"

# Define two matrices
matrix_a = tf.random.normal((1000, 1000), dtype=tf.float32)
matrix_b = tf.random.normal((1000, 1000), dtype=tf.float32)

# Perform matrix multiplication on the specified device
with tf.device(device):
    start_time = time.time()
    result = tf.matmul(matrix_a, matrix_b)
    end_time = time.time()
    print(f"Matrix multiplication time on {device}: {end_time - start_time:.4f} seconds")
