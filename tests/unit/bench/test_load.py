import time

from bench.speed.cells import cells
from bench.speed.load import Client, at
from bench.speed.peers import why
from bench.speed.recognise import TURN, WHOLE, recognition
from bench.speed.upstreams import PACE, STAMPED


def client():
    made = Client()
    made.connection_made(None)
    return made


def test_reads_from_each_chunk_when_it_left_wherever_it_is_cut():
    """
    Packets end where they like; each chunk counts once all the same.
    """
    chunk = STAMPED % time.monotonic_ns()
    data = b"%x\r\n%b\r\n" % (len(chunk), chunk) * 3
    for cut in range(1, len(data), 7):
        reader = client()
        reader.stream(data[:cut])
        reader.stream(data[cut:])
        assert len(reader.late) == 3
        assert all(0 <= late < 60e9 for late in reader.late)


def test_reads_chunks_that_a_proxy_wrote_anew():
    """
    Some write JSON with spaces, and strip those of the text.
    """
    reader = client()
    reader.stream(b'data: {"choices": [{"delta": {"content": "%d"}}]}\n\n' % time.monotonic_ns())

    assert len(reader.late) == 1


def test_the_upstream_understands_what_the_scenarios_ask_for():
    """
    Every stream asks in words for as many chunks as its figures are divided by.
    """
    streams = [cell for quick in (True, False) for cell in cells(quick=quick) if cell.chunks]
    for cell in streams:
        asked = PACE.search(cell.bodies(1)[0])
        assert (int(asked[1]), float(asked[2])) == (cell.chunks, cell.pause)
        assert int(PACE.search(cell.shorter(20).bodies(1)[0])[1]) == 20


def test_streams_are_long_enough_that_their_start_does_not_count():
    """
    A thousand chunks in the whole run, and two hundred in the short one, but where ten a second are measured.
    """
    for quick, least in ((False, 1_000), (True, 200)):
        chunks = [cell.chunks for cell in cells(quick=quick) if cell.chunks and cell.pause < 100]
        assert len(chunks) == 3
        assert min(chunks) >= least


def test_a_quantile_of_few_values_is_the_highest():
    """
    No index lies outside.
    """
    assert at([1.0, 2.0], 0.999) == 2.0


def test_tells_why_a_peer_was_not_installed_in_a_line():
    """
    What an installer printed last is what it failed of.
    """
    fault = RuntimeError("first\nERROR: no such version\n\n")

    assert why(fault) == "RuntimeError: ERROR: no such version"


def test_what_it_costs_to_know_a_conversation_again_is_measured(tmp_path):
    """
    The measurement calls what the proxy calls, and breaks here where that changes.
    """
    told = recognition(tmp_path, times=1)

    assert told.keys() == {*WHOLE, *TURN}
    assert all(one["median"] > 0 for one in told.values())
    assert told["parse of a turn"]["median"] < told["parse"]["median"]
