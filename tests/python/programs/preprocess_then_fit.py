import tensorflow as tf
import numpy as np

# Sample data (replace with your actual data loading)
data = np.random.rand(100000, 100)
labels = np.random.randint(0, 10, 100000)

with tf.device('/CPU:0'):
    # Preprocessing steps (e.g., normalization, one-hot encoding)
    normalized_data = (data - np.mean(data, axis=0)) / np.std(data, axis=0)
    labels = tf.keras.utils.to_categorical(labels, num_classes=10)

with tf.device('/GPU:0'):
    # Model definition and training
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(64, activation='relu', input_shape=(100,)),
        tf.keras.layers.Dense(10, activation='softmax')
    ])
    model.compile(optimizer='adam', loss='categorical_crossentropy', metrics=['accuracy'])
    model.fit(normalized_data, labels, epochs=10, batch_size=32)
