"""The libraries poolgrad is measured against; each is imported only when it is asked for."""

from __future__ import annotations

from benchmarks.peers.jax_peer import JaxPeer
from benchmarks.peers.tensorflow_peers import TensorFlowPeer
from benchmarks.peers.torch_peers import TorchPeer
from benchmarks.runners import Peer

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        TensorFlowPeer("tf", compiled=False),
        TensorFlowPeer("xla", compiled=True),
        TorchPeer("torch", channels_last=False, compiled=False),
        TorchPeer("torch_cl", channels_last=True, compiled=False),
        TorchPeer("inductor", channels_last=True, compiled=True),
        JaxPeer("jax"),
    )
}
