import tensorflow as tf
import numpy as np

# Load data on CPU
data = np.random.rand(10000, 100).astype(np.float32)

with tf.device('/CPU:0'):
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(1024) #Batching for efficient transfer

with tf.device('/GPU:0'):
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(64, activation='relu'),
        tf.keras.layers.Dense(10)
    ])
    for batch in dataset:
        with tf.device('/GPU:0'): # ensure model execution is on GPU
            predictions = model(batch)
        with tf.device('/CPU:0'):
            # Process predictions on CPU
            # ...further processing...
            pass


