"""A link between two network namespaces: two TUN devices, and between them a queue, a rate and a delay for each direction.

  emulator.py NEAR_PID FAR_PID

Makes a device `narrow0` in the namespace of each process, 10.77.0.1 (near) and 10.77.0.2 (far), prints "ready", and carries IPv4 packets until its
standard input ends. Each line there is a command, and is answered by one line:

  set UP_BITS DOWN_BITS DELAY_MS QUEUE_BYTES    from now on; a rate of 0 is without bound
  count                                         bytes that have arrived, both ways
  busy                                          milliseconds in which a packet was being sent, one way or the other

What a packet meets: the queue (tail drop), the rate, the delay.
"""
import collections
import fcntl
import os
import selectors
import struct
import subprocess
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
DEVICE = "narrow0"
MTU = 1500
MOST_PACKETS_AT_ONCE = 64


def open_tun(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


def place(name, pid, address, peer):
    inside = ["nsenter", "-t", pid, "-n", "ip"]
    for command in (
        ["ip", "link", "set", name, "netns", pid],
        inside + ["link", "set", name, "name", DEVICE],
        inside + ["link", "set", "lo", "up"],
        inside + ["link", "set", DEVICE, "mtu", str(MTU), "up"],
        inside + ["addr", "add", address, "peer", peer, "dev", DEVICE],
    ):
        subprocess.run(command, check=True)


class Direction:
    def __init__(self, source, sink):
        self.source, self.sink = source, sink
        self.set(0, 0, 10_000_000)
        self.queued = collections.deque()  # (when its last bit is sent, packet): still in the queue
        self.flying = collections.deque()  # (when it arrives, packet)
        self.waiting = 0
        self.free_at = 0.0
        self.bytes = 0
        self.sent = []  # (begin, end) of each packet, since the last question

    def set(self, bits, delay, room):
        self.bits, self.delay, self.room = bits, delay, room

    def take(self, now):
        for _ in range(MOST_PACKETS_AT_ONCE):
            try:
                packet = os.read(self.source, MTU + 64)
            except BlockingIOError:
                return
            if packet[0] >> 4 != 4:
                continue  # IPv6 neighbour discovery and the like would only take up the link
            if self.waiting + len(packet) > self.room:
                continue
            self.waiting += len(packet)
            begin = max(now, self.free_at)
            self.free_at = begin + (len(packet) * 8 / self.bits if self.bits else 0)
            self.queued.append((self.free_at, packet))
            if self.bits:
                self.sent.append((begin, self.free_at))

    def deliver(self, now):
        """@returns when there is more to do"""
        while self.queued and self.queued[0][0] <= now:
            sent, packet = self.queued.popleft()
            self.waiting -= len(packet)
            self.flying.append((sent + self.delay, packet))
        while self.flying and self.flying[0][0] <= now:
            _, packet = self.flying.popleft()
            try:
                os.write(self.sink, packet)
            except OSError:
                continue
            self.bytes += len(packet)
        return min([queue[0][0] for queue in (self.queued, self.flying) if queue], default=None)


def sent_in(directions):
    """@returns seconds in which at least one of them sent, since the last question"""
    total, until = 0.0, 0.0
    for begin, end in sorted(interval for direction in directions for interval in direction.sent):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    for direction in directions:
        direction.sent.clear()
    return total


def main():
    near_pid, far_pid = sys.argv[1:]
    names = [f"wl{os.getpid()}{side}" for side in "nf"]
    near, far = (open_tun(name) for name in names)
    place(names[0], near_pid, "10.77.0.1", "10.77.0.2")
    place(names[1], far_pid, "10.77.0.2", "10.77.0.1")
    directions = [Direction(near, far), Direction(far, near)]
    selector = selectors.DefaultSelector()
    for direction in directions:
        selector.register(direction.source, selectors.EVENT_READ, direction)
    selector.register(sys.stdin, selectors.EVENT_READ, None)
    print("ready", flush=True)
    due = None
    busy = 0.0
    while True:
        timeout = None if due is None else max(0, due - time.monotonic())
        for key, _ in selector.select(timeout):
            if key.data is None:
                name, *figures = sys.stdin.readline().split() or ["end"]
                if name == "end":
                    return
                if name == "set":
                    *rates, delay, room = (float(figure) for figure in figures)
                    for direction, bits in zip(directions, rates):
                        direction.set(bits, delay / 1000, room)
                if name == "busy":
                    busy += sent_in(directions)
                carried = sum(direction.bytes for direction in directions)
                print(round(busy * 1000) if name == "busy" else carried, flush=True)
            else:
                key.data.take(time.monotonic())
        dues = [direction.deliver(time.monotonic()) for direction in directions]
        due = min([each for each in dues if each is not None], default=None)


main()
