"""keras.optimizers.legacy: the names of Keras 2 for the same optimizers."""
from .adam import Adam, Adamax, Nadam
from .descent import SGD, Adadelta, Adagrad, RMSprop
from .factored import Ftrl
from .optimizer import Optimizer
