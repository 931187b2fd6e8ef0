import tensorflow as tf
import time
import threading

# Set up GPU usage if available
if tf.config.list_physical_devices('GPU'):
    print("GPU is available. Using GPU.")
    device = "/GPU:0"
else:
    print("GPU is not available. Using CPU.")
    device = "/CPU:0"

# Define a function that computes on the GPU
def gpu_compute_task(data):
    with tf.device(device):
        start_time = time.time()
        result = tf.matmul(data, data, transpose_b = True)
        end_time = time.time()
        print(f"GPU computation time: {end_time-start_time:.4f} seconds")
    return result

# Define a function that performs CPU-bound pre-processing
def cpu_preprocess_task(shape):
    start_time = time.time()
    # simulates some CPU heavy processing using NumPy
    data = tf.random.normal(shape, dtype=tf.float32)
    end_time = time.time()
    print(f"CPU preprocessing time: {end_time-start_time:.4f} seconds")
    return data

# Run computations asynchronously
data_shape = (1000, 1000)

gpu_thread = threading.Thread(target=gpu_compute_task, args=(cpu_preprocess_task(data_shape),))

gpu_thread.start()

gpu_thread.join()

print("Asynchronous processing complete")

