"""keras.distillation: a small model learns from a large one."""
from .. import _tandem
from . import losses, metrics, ops, tree
from ._engine.model import Model
from ._engine.registry import deserialize_keras_object, serialize_keras_object

FINAL = "final_output"


def _losses_of(loss):
    found = tree.map_structure(lambda entry: None if entry is None else losses.get(entry) if isinstance(entry, str) else entry, loss)
    if all(entry is None for entry in tree.flatten(found)):
        raise ValueError("The `loss` argument must contain at least one non-`None` value.")
    return found


class DistillationLoss:
    """How far a student is from its teacher; subclass it with compute_loss."""

    _keras_module = "keras.distillation"
    teacher_layer_name = student_layer_name = None

    def compute_loss(self, teacher_outputs, student_outputs, **kwargs):
        raise NotImplementedError("Subclasses must implement compute_loss")

    def validate_outputs(self, teacher_outputs, student_outputs):
        tree.assert_same_structure(teacher_outputs, student_outputs)

    def validate_model_compatibility(self, teacher, student):
        pass

    def get_config(self):
        return {"loss": serialize_keras_object(self.loss)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "loss": losses.deserialize(config["loss"])})

    def _total(self, of_pair, teacher, student):
        values = tree.map_structure(lambda loss, a, b: 0.0 if loss is None else of_pair(loss, a, b), self.loss, teacher, student)
        return ops.sum(ops.stack(tree.flatten(values)))


class FeatureDistillation(DistillationLoss):
    """The student's layer should give what the teacher's does; without names, the outputs are compared."""

    def __init__(self, loss="mse", teacher_layer_name=None, student_layer_name=None):
        self.teacher_layer_name, self.student_layer_name = teacher_layer_name, student_layer_name
        self.loss = _losses_of(loss)

    def validate_model_compatibility(self, teacher, student):
        for who, model, name in (("teacher", teacher, self.teacher_layer_name), ("student", student, self.student_layer_name)):
            if name is None:
                continue
            if not getattr(model, "inputs", None):
                raise ValueError(
                    f"FeatureDistillation with specific layer names requires Functional or Sequential models; the {who} is subclassed. "
                    "Leave the names out to compare the outputs."
                )
            try:
                model.get_layer(name)
            except ValueError as error:
                raise ValueError(f"In {who} model: {error}") from None

    def compute_loss(self, teacher_outputs, student_outputs, **kwargs):
        return self._total(lambda loss, teacher, student: ops.mean(loss(teacher, student)), teacher_outputs, student_outputs)

    def get_config(self):
        return {**super().get_config(), "teacher_layer_name": self.teacher_layer_name, "student_layer_name": self.student_layer_name}


class LogitsDistillation(DistillationLoss):
    """The logits, divided by a temperature that makes small probabilities count, should be alike; Hinton and others, 2015."""

    def __init__(self, temperature=3.0, loss="kl_divergence"):
        if not isinstance(temperature, (int, float)):
            raise ValueError(f"temperature must be a number, got {type(temperature)}")
        if temperature <= 0:
            raise ValueError("temperature must be positive.")
        self.temperature, self.loss = temperature, _losses_of(loss)

    def _of_pair(self, loss, teacher, student):
        teacher, student = (ops.divide(logits, self.temperature) for logits in (teacher, student))
        if isinstance(loss, losses.KLDivergence) or loss is losses.kl_divergence:
            return ops.mean(loss(ops.softmax(teacher), ops.softmax(student))) * self.temperature**2
        return ops.mean(loss(teacher, student))

    def compute_loss(self, teacher_outputs, student_outputs, **kwargs):
        return self._total(self._of_pair, teacher_outputs, student_outputs)

    def get_config(self):
        return {"temperature": self.temperature, **super().get_config()}


class Distiller(Model):
    """Trains the student on labels and on what the teacher, which stays as it is, says; a call is the student's."""

    _keras_module = "keras.distillation"

    def __init__(self, teacher, student, distillation_losses, distillation_loss_weights=None, student_loss_weight=0.5, name="distiller", **kwargs):
        super().__init__(name=name, **kwargs)
        _check_models(teacher, student)
        if not isinstance(student_loss_weight, (int, float)) or not 0 <= student_loss_weight <= 1:
            raise ValueError(f"student_loss_weight must be a number between 0.0 and 1.0, got {student_loss_weight}")
        if distillation_losses is None:
            raise ValueError("'distillation_losses' cannot be `None`. Provide a distillation loss (e.g., LogitsDistillation or FeatureDistillation) or a list of distillation losses.")
        wanted = list(distillation_losses) if isinstance(distillation_losses, (list, tuple)) else [distillation_losses]
        weights = [1.0] * len(wanted) if distillation_loss_weights is None else list(distillation_loss_weights)
        if len(weights) != len(wanted):
            raise ValueError(f"Number of distillation_loss_weights ({len(weights)}) must match number of distillation_losses ({len(wanted)})")
        for loss in wanted:
            loss.validate_model_compatibility(teacher, student)
        self.teacher, self.student = teacher, student
        self.distillation_losses, self.distillation_loss_weights, self.student_loss_weight = wanted, weights, student_loss_weight
        self._teacher_features = _features_of(teacher, [loss.teacher_layer_name for loss in wanted])
        self._student_features = _features_of(student, [loss.student_layer_name for loss in wanted])
        teacher.trainable = False
        self.student_loss_tracker = metrics.Mean(name="student_loss")
        self.distillation_loss_tracker = metrics.Mean(name="distillation_loss")
        self.total_loss_tracker = metrics.Mean(name="total_loss")

    def compile(self, optimizer="adam", loss=None, metrics=None, **kwargs):
        """`loss` is that of the student beside the labels."""
        if loss is None:
            raise ValueError("'loss' cannot be `None`.")
        if metrics is not None and not isinstance(metrics, (list, tuple)):
            raise ValueError(f"metrics must be a list or tuple, got {type(metrics)}")
        self._student_loss = tree.map_structure(lambda entry: losses.get(entry) if isinstance(entry, str) else entry, loss)
        super().compile(optimizer=optimizer, loss=None, metrics=metrics, **kwargs)

    def call(self, inputs, training=None):
        return self.student(inputs, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        y_pred = self(x, training=training) if y_pred is None else y_pred
        own = distant = _tandem.to_tensor(0.0)
        if self.student_loss_weight > 0 and y is not None:
            own = ops.sum(ops.stack([ops.mean(value) for value in tree.flatten(tree.map_structure(lambda loss, a, b: loss(a, b), self._student_loss, y, y_pred))]))
        if self.student_loss_weight < 1:
            distant = self._distance(x, y_pred)
        total = self.student_loss_weight * own + (1.0 - self.student_loss_weight) * distant
        for tracker, value in ((self.student_loss_tracker, own), (self.distillation_loss_tracker, distant), (self.total_loss_tracker, total)):
            tracker.update_state(value)
        return total

    def _distance(self, x, y_pred):
        """The weighted sum of the distillation losses."""
        taught = {FINAL: self.teacher(x, training=False)} if self._teacher_features is None else self._teacher_features(x, training=False)
        learnt = {FINAL: y_pred} if self._student_features is None else self._student_features(x, training=True)
        total = 0.0
        for loss, weight in zip(self.distillation_losses, self.distillation_loss_weights):
            named = loss.teacher_layer_name is not None
            teacher = taught[loss.teacher_layer_name or FINAL]
            student = learnt[loss.student_layer_name or FINAL] if named else y_pred
            loss.validate_outputs(teacher, student)
            value = loss.compute_loss(teacher, student)
            if _tandem.to_tensor(value).ndim:
                raise ValueError(f"Distillation loss {type(loss).__name__} returned a non-scalar loss with shape {value.shape}. The compute_loss method must return a scalar tensor.")
            total = total + weight * value
        return total

    def get_config(self):
        parts = {name: serialize_keras_object(getattr(self, name)) for name in ("teacher", "student", "distillation_losses")}
        return {"name": self.name, **parts, "distillation_loss_weights": self.distillation_loss_weights, "student_loss_weight": self.student_loss_weight}

    @classmethod
    def from_config(cls, config):
        parts = {name: deserialize_keras_object(config[name]) for name in ("teacher", "student", "distillation_losses")}
        return cls(**{**config, **parts})


def _check_models(teacher, student):
    for who, model in (("Teacher", teacher), ("Student", student)):
        if not isinstance(model, Model):
            raise ValueError(f"{who} must be a keras.Model, got {type(model)}")
    for what in ("inputs", "outputs"):
        pairs = zip(getattr(teacher, what, None) or [], getattr(student, what, None) or [])
        for a, b in pairs:
            if len(a.shape) != len(b.shape) or any(m != n for m, n in zip(a.shape, b.shape) if None not in (m, n)):
                raise ValueError(f"Teacher and student {what[:-1]} shapes are incompatible. Teacher: {a.shape}, Student: {b.shape}. All dimensions must match.")
            if a.dtype != b.dtype:
                raise ValueError(f"Teacher and student {what[:-1]} dtypes must match. Teacher: {a.dtype}, Student: {b.dtype}.")


def _features_of(model, names):
    """A model of the same layers that also gives what these layers do; None where no layer is named."""
    names = [name for name in dict.fromkeys(names) if name is not None]
    if not names:
        return None
    outputs = {FINAL: model.output, **{name: model.get_layer(name).output for name in names}}
    return Model(model.inputs, outputs, name=f"{model.name}_multi_feature_extractor")


__all__ = ["DistillationLoss", "Distiller", "FeatureDistillation", "LogitsDistillation"]
