"""tf.train.ExponentialMovingAverage."""
from . import _tandem
from ._ops import cast


class ExponentialMovingAverage:
    """Averages of variables in which what is older counts less: average = decay * average + (1 - decay) * value."""

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        if zero_debias:
            raise NotImplementedError("ExponentialMovingAverage: averages begin with the value, so zero_debias is not there")
        self.name, self._decay, self._num_updates, self._averages = name, decay, num_updates, {}

    def apply(self, var_list=None):
        """Takes the values as they are now into the averages; the first time they are the averages."""
        if not var_list:
            raise ValueError("ExponentialMovingAverage.apply: give the variables as a list, for example model.trainable_variables")
        decay = self._decay
        if self._num_updates is not None:
            steps = float(_tandem.to_tensor(self._num_updates).numpy())
            decay = min(decay, (1 + steps) / (10 + steps))
        for variable in var_list:
            average = self._averages.get(variable.ref())
            if average is None:
                self._averages[variable.ref()] = _tandem.Variable(_tandem.to_tensor(variable), trainable=False)
            else:
                average.assign_sub((average - variable) * cast(1 - decay, average.dtype))

    def average(self, var):
        """The average of a variable, itself a variable; None for one that was not applied."""
        return self._averages.get(var.ref())
