import socket

import pytest

from proxy.server.ports import SharedPort, open_port


def connected(port: SharedPort) -> socket.socket:
    return socket.create_connection(port.address, timeout=5)


def test_all_workers_have_one_port() -> None:
    """
    A free one is chosen once; each worker has a socket of its own.
    """
    port = SharedPort("127.0.0.1", 0, 3)
    names = {listener.getsockname() for worker in range(3) for listener in port._sockets[worker]}
    connected(port).close()
    port.close_all()

    assert names == {port_address for port_address in names if port_address[0] == "127.0.0.1"}
    assert len(names) == 1


def test_a_worker_that_rests_gets_no_connections() -> None:
    """
    They go to the others, and come back when it does.
    """
    port = SharedPort("127.0.0.1", 0, 2)
    address = port.address
    port.close(1)
    clients = [socket.create_connection(address, timeout=5) for _ in range(8)]
    taken = [port._sockets[0][0].accept()[0] for _ in clients]
    port.open(1)
    again = port._sockets[1][0].getsockname()
    for one in (*clients, *taken):
        one.close()
    port.close_all()

    assert (len(taken), again) == (8, address)


def test_a_worker_takes_its_own_sockets_alone() -> None:
    """
    A copy that another worker held would keep a closed port open.
    """
    port = SharedPort("127.0.0.1", 0, 2)
    other = port._sockets[0][0]
    taken = port.take(1)
    open_ones = (other.fileno(), [listener.fileno() > 0 for listener in taken])
    port.close_all()

    assert open_ones == (-1, [True])


def test_a_name_with_several_addresses_is_listened_on_at_each() -> None:
    """
    As one process would.
    """
    port = SharedPort("localhost", 0, 2)
    families = {listener.family for listener in port._sockets[0]}
    port.close_all()

    assert families == {info[0] for info in socket.getaddrinfo("localhost", 0, type=socket.SOCK_STREAM)}


def test_a_port_that_another_shares_is_refused() -> None:
    """
    Otherwise two proxies would split the clients of one port, and nobody would know.
    """
    port = SharedPort("127.0.0.1", 0, 1)
    try:
        with pytest.raises(OSError, match="in use"):
            SharedPort(*port.address, 1)
    finally:
        port.close_all()


def test_one_process_has_its_port_for_itself_at_each_address() -> None:
    """
    A second one is told, with the address.
    """
    listeners = open_port("localhost", 0)
    names = {listener.getsockname()[1] for listener in listeners}
    with pytest.raises(OSError, match=rf"in use: localhost:{listeners[0].getsockname()[1]}"):
        open_port("localhost", listeners[0].getsockname()[1])
    for listener in listeners:
        listener.close()

    assert len(names) == 1
    assert len(listeners) == len({info[4] for info in socket.getaddrinfo("localhost", 1, type=socket.SOCK_STREAM)})
