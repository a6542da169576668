"""Hosts that share nothing but wires: namespaces of the kernel, each with a disk and a network.

A host is a process tree with its own processes, mounts and network. All that it sees of this
machine is read-only, but for one disk (a file system in memory), on which its folder has a name
that no other host has. The *rack* has the scheduler and the object store; each other host has two
wires to it, one to the scheduler and one to the store, and the kernel counts what goes through
each. There is no way from one of the other hosts to another.

Where no namespaces can be made, hosts are folders, and addresses of the loopback interface: then
nothing is read-only, and nothing is counted.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
SCHEDULER, STORE = "10.255.0.1", "10.255.0.2"
"""Addresses of the rack, at the end of the wires."""

START_SECONDS = 60
"""What a host may take to begin."""

OWN_DISK = """
set -e
mount --make-rprivate /
echo 0 > /proc/sys/net/ipv4/ip_forward
awk '{print $2}' /proc/self/mounts | while read -r place; do
    mount -o remount,bind,ro "$place" 2> /dev/null || true
done
mount -t tmpfs shm /dev/shm
mount -t tmpfs disk "$1"
mkdir -p "$1/$2"
ip link set lo up
touch "$1/$2/ready"
exec sleep infinity
"""
"""What a host begins with; where its disk is, and its name."""


def why_no_namespaces() -> str | None:
    """Say why hosts cannot be namespaces here, or None."""
    missing = [tool for tool in ("setpriv", "unshare", "nsenter", "ip", "mount", "awk") if shutil.which(tool) is None]
    if missing:
        return f"no {', '.join(missing)} here"
    script = "mount --make-rprivate / && mount -t tmpfs disk /dev/shm && ip link add name one type veth peer name other"
    tried = subprocess.run([*_UNSHARE, "sh", "-c", script], capture_output=True, text=True)
    return None if tried.returncode == 0 else f"no namespaces can be made here: {tried.stderr.strip()}"


_UNSHARE = [
    "setpriv",
    "--pdeathsig",
    "KILL",
    "unshare",
    "--net",
    "--mount",
    "--pid",
    "--fork",
    "--mount-proc",
    "--kill-child",
]


@dataclass
class Host:
    """A host, and what runs on it.

    Parameters
    ----------
    name
        Its name, and that of its folder.
    address
        Where others reach it.
    folder
        Its folder, as its own processes see it.
    outside
        The same folder, as this process sees it.
    enter
        Command that runs another one on it.
    """

    name: str
    address: str
    folder: Path
    outside: Path
    enter: list[str] = field(default_factory=list)
    running: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def start(self, module: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Start a Python module; its log is in the folder, by the name of the module."""
        for name in ("home", "tmp"):
            (self.outside / name).mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            **variables,
        }
        command = [*self.enter, "env", "-C", str(self.folder), sys.executable, "-m", module, *arguments]
        with (self.outside / f"{module}.log").open("a") as log:
            started = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        self.running[module] = started
        return started

    def answer(self, module: str, *arguments: str, **variables: str) -> str:
        """Run a Python module to its end, which must be a good one, and return what it printed."""
        started = self.start(module, *arguments, **variables)
        printed = started.communicate(timeout=600)[0]
        assert started.returncode == 0, self.log(module)
        return printed

    def log(self, module: str) -> str:
        """What a module said."""
        return (self.outside / f"{module}.log").read_text()

    def workers(self) -> list[psutil.Process]:
        """Processes of Dask workers, without the nannies that start them again."""
        trees = (_tree(one) for one in self.running.values())
        return [process for tree in trees for process in tree if _is_worker(process)]

    def files(self) -> list[Path]:
        """Files of its folder, by their names in it."""
        return [path.relative_to(self.outside) for path in self.outside.rglob("*") if path.is_file()]

    def bytes(self, wire: str) -> int:
        """Bytes that went through a wire ("scheduler" or "store") of a namespace, either way."""
        folder = f"/sys/class/net/{wire}/statistics"
        script = f"mount -t sysfs sys /sys && cat {folder}/rx_bytes {folder}/tx_bytes"  # /sys is of a network
        command = [*self.enter, "unshare", "--mount", "sh", "-c", script]
        return sum(map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()))

    def unplug(self) -> None:
        """Cut both wires of a namespace; nobody is told."""
        for wire in ("scheduler", "store"):
            subprocess.run([*self.enter, "ip", "link", "set", wire, "down"], check=True)

    def end(self, *modules: str) -> None:
        """End these modules as a terminal would, or kill all that runs here."""
        for module in modules or tuple(self.running):
            one = self.running.pop(module)
            tree = _tree(one)
            if modules:
                tree = tree[1:] or tree  # who entered the host for it ends with it
            for process in tree:
                process.send_signal(signal.SIGTERM if modules else signal.SIGKILL)
            one.wait(60)


def _tree(started: subprocess.Popen[str]) -> list[psutil.Process]:
    """Processes below one that was started here, which only enters the host, or is what it runs."""
    if started.poll() is not None:
        return []
    process = psutil.Process(started.pid)
    return [process, *process.children(recursive=True)]


def _is_worker(process: psutil.Process) -> bool:
    try:
        return any("spawn_main" in word for word in process.cmdline())
    except psutil.NoSuchProcess:
        return False


@contextmanager
def namespaces(folder: Path, names: list[str]) -> Iterator[list[Host]]:
    """Make hosts that are namespaces, the rack first; they end with the block."""
    disk = folder / "disk"
    disk.mkdir()
    holders, hosts = list[subprocess.Popen[bytes]](), list[Host]()
    try:
        for number, name in enumerate(["rack", *names]):
            holder = subprocess.Popen([*_UNSHARE, "sh", "-c", OWN_DISK, "sh", str(disk), name])
            holders.append(holder)
            host = _entered(holder, disk, name, f"10.0.{number}.2" if number else SCHEDULER)
            hosts.append(host)
            if number:
                _wire(hosts[0], host, number)
            else:
                for address in (SCHEDULER, STORE):
                    _ip(host, f"addr add {address}/32 dev lo")
        yield hosts
    finally:
        for host in hosts:
            host.end()
        for holder in holders:
            holder.kill()  # and so all that is in it
            holder.wait(60)


def _entered(holder: subprocess.Popen[bytes], disk: Path, name: str, address: str) -> Host:
    """Wait until a host is there."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert holder.poll() is None, f"host {name} ended"
        inner = psutil.Process(holder.pid).children()
        outside = Path(f"/proc/{inner[0].pid}/root{disk}/{name}") if inner else None
        if outside is not None and (outside / "ready").exists():
            enter = ["nsenter", "--target", str(inner[0].pid), "--net", "--mount", "--pid"]
            return Host(name, address, disk / name, outside, enter)
        time.sleep(0.05)
    raise AssertionError(f"host {name} is not there after {START_SECONDS} s")


def _wire(rack: Host, host: Host, number: int) -> None:
    """Lay both wires."""
    for wire, (kind, there) in enumerate({"scheduler": SCHEDULER, "store": STORE}.items()):
        near, far = f"{kind[:9]}{number}", f"10.{wire}.{number}"
        _ip(rack, f"link add name {near} type veth peer name {kind}")
        outside = ["nsenter", "--target", rack.enter[2], "--net", "ip", "link", "set", kind, "netns", host.enter[2]]
        subprocess.run(outside, check=True)
        _ip(rack, f"addr add {far}.1/30 dev {near}")
        _ip(rack, f"link set {near} up")
        _ip(host, f"addr add {far}.2/30 dev {kind}")
        _ip(host, f"link set {kind} up")
        _ip(host, f"route add {there}/32 via {far}.1")


def _ip(host: Host, words: str) -> None:
    subprocess.run([*host.enter, "ip", *words.split()], check=True)


@contextmanager
def folders(folder: Path, names: list[str]) -> Iterator[list[Host]]:
    """Make hosts that are folders, the rack first; what runs on them ends with the block."""
    hosts = []
    for number, name in enumerate(["rack", *names], start=1):
        (folder / f"of-{name}" / name).mkdir(parents=True)
        place = folder / f"of-{name}" / name
        hosts.append(Host(name, f"127.0.0.{number}", place, place))
    try:
        yield hosts
    finally:
        for host in hosts:
            host.end()
