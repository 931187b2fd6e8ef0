"""Goals of rows: a ratio that may not be above, or below, a number."""


def met(row):
    """Whether the row's goal is met; None where it has none, or nothing to compare with."""
    words = (row.get("goal") or "").split()
    if len(words) != 2 or row.get("ratio") is None or (row.get("reference") == "PyTorch" and not row.get("reference_value")):
        return None
    limit = float(words[1])
    return row["ratio"] <= limit if words[0] == "<=" else row["ratio"] >= limit
