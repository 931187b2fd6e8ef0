"""The values of each epoch sent to a server."""
import json
import urllib.error
import urllib.parse
import urllib.request
import warnings

import numpy as np

from .callback import Callback


class RemoteMonitor(Callback):
    """Posts {"epoch": …, the logs} to root + path after each epoch: as a form's field, or as JSON."""

    def __init__(self, root="http://localhost:9000", path="/publish/epoch/end/", field="data", headers=None, send_as_json=False):
        super().__init__()
        self.root, self.path, self.field, self.headers, self.send_as_json = root, path, field, headers, send_as_json

    def on_epoch_end(self, epoch, logs=None):
        values = {name: value.item() if isinstance(value, (np.ndarray, np.generic)) else value for name, value in (logs or {}).items()}
        text = json.dumps({"epoch": epoch, **values})
        if self.send_as_json:
            body, kind = text, "application/json"
        else:
            body, kind = urllib.parse.urlencode({self.field: text}), "application/x-www-form-urlencoded"
        request = urllib.request.Request(self.root + self.path, body.encode(), {"Content-Type": kind, **(self.headers or {})})
        try:
            urllib.request.urlopen(request, timeout=10).close()
        except (urllib.error.URLError, OSError):
            warnings.warn(f"Could not reach RemoteMonitor root server at {self.root}", stacklevel=2)
