import tensorflow as tf
import numpy as np
import time

# Check if GPU is available
if tf.config.list_physical_devices('GPU'):
    print("GPU is available. Using GPU for model.")
    device = "/GPU:0"
else:
    print("GPU is not available. Using CPU.")
    device = "/CPU:0"

# Simulate data loading and preprocessing on CPU
def load_and_preprocess_data(batch_size):
    start_time = time.time()
    # Simulate data loading (e.g., reading from a file, which is inherently a CPU bound operation)
    raw_data = np.random.rand(batch_size, 28, 28, 3) # simulates an image
    # Simulate data preprocessing using NumPy (CPU)
    processed_data = raw_data.astype(np.float32) / 255.0
    end_time = time.time()
    print(f"CPU data loading and preprocessing time: {end_time - start_time:.4f} seconds")
    return tf.convert_to_tensor(processed_data, dtype=tf.float32)

# Define a simple model on GPU
with tf.device(device):
  model = tf.keras.Sequential([
    tf.keras.layers.Conv2D(32, (3, 3), activation='relu', input_shape=(28, 28, 3)),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(10, activation='softmax')
  ])

  # Run model
  batch_size = 64
  # Load data using CPU
  data = load_and_preprocess_data(batch_size)
  # Perform a forward pass
  predictions = model(data) # GPU operations here

  print("Model processing complete")
