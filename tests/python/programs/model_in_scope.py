import tensorflow as tf

with tf.device('/GPU:0'):  # Specify GPU 0; change if needed.
    # Place the computationally expensive layers on the GPU
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(128, activation='relu', input_shape=(784,)),
        tf.keras.layers.Dense(10, activation='softmax')
    ])
    model.compile(optimizer='adam', loss='categorical_crossentropy', metrics=['accuracy'])

with tf.device('/CPU:0'):  # Place pre-processing on the CPU if beneficial
    # Pre-processing steps here, like data normalization or augmentation.
    # Avoid large memory transfers between CPU and GPU.
    x_train_preprocessed = ... # your preprocessing code
    y_train_preprocessed = ... # your preprocessing code

with tf.device('/GPU:0'):
    model.fit(x_train_preprocessed, y_train_preprocessed, epochs=10)

