"""What scripts import, loaded once in the process that they are forked from (`forking.py`)."""

import gc
import pkgutil
import signal
from importlib import import_module

import mbert_atlas
from workflow.job import set_environment

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # to all of a group: the scripts end first
set_environment(1, offline=True)  # libraries read it when they are loaded
for _module in pkgutil.walk_packages(mbert_atlas.__path__, "mbert_atlas."):
    if not _module.name.endswith("__main__"):
        import_module(_module.name)
gc.freeze()  # a collection in a job would copy all of it
