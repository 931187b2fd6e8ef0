"""keras.ops.ctc_loss and ctc_decode."""
from ... import _ctc, _dtypes, _ops, _tandem
from ._convert import tensor


def ctc_loss(target, output, target_length, output_length, mask_index=0):
    """-log of the probability of each sample's labels: target [batch, length], output [batch, time, classes] of logits."""
    return _ctc.ctc_loss(tensor(target), tensor(output), tensor(target_length), tensor(output_length), logits_time_major=False, blank_index=mask_index)


def ctc_decode(inputs, sequence_lengths, strategy="greedy", beam_width=100, top_paths=1, merge_repeated=True, mask_index=0):
    """The labels that the likeliest classes of [batch, time, classes] spell, -1 where there are no more, and their scores."""
    if strategy != "greedy":
        raise ValueError(f"ctc_decode: strategy must be 'greedy' here, got {strategy!r}")
    logits = _ops.cast(tensor(inputs), _dtypes.float32).numpy()
    rows, scores = _ctc.best_paths(logits, _tandem.as_ints(sequence_lengths), merge_repeated, mask_index % logits.shape[-1])
    padded = [[*row, *[-1] * (logits.shape[1] - len(row))] for row in rows]
    return _tandem.to_tensor([padded], _dtypes.int32), _tandem.to_tensor(scores, _dtypes.float32)
