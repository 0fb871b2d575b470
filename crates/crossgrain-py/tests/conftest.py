"""Settings of all tests: hypothesis keeps no files and sets no deadline. Fixtures: stores for encrypted objects, and a cluster."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("crossgrain", database=None, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.load_profile("crossgrain")

_spec = importlib.util.spec_from_file_location("crossgrain_stores", Path(__file__).with_name("stores.py"))
stores = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(stores)


@pytest.fixture(scope="session")
def s3_server():
    server = stores.Server()
    yield server
    server.close()


@pytest.fixture(params=stores.KINDS)
def store(request, tmp_path):
    """An empty folder in each kind of store."""
    pytest.importorskip("fsspec")
    server = request.getfixturevalue("s3_server") if request.param == "s3" else None
    if server is not None:
        server.requests.clear()
    return stores.Store(request.param, tmp_path, server)


@pytest.fixture
def s3(s3_server, tmp_path):
    """An empty bucket."""
    s3_server.requests.clear()
    return stores.Store("s3", tmp_path, s3_server)


@pytest.fixture(scope="module")
def client():
    """A client of a cluster of two processes, each with a thread."""
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, protocol="tcp://")
    with cluster, distributed.Client(cluster) as client:
        yield client
