"""tf.keras: models, layers and training with the interface of Keras 3."""
