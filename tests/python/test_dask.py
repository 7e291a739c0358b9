"""A million points on two workers of Dask, one of which is killed, are those of one process."""

import os
import signal
import sys
import unittest

import numpy
import roofcast
from distributed import Client, LocalCluster, wait
from support import ROOT, Test

sys.path.insert(0, str(ROOT / "examples"))
import dask_sweep  # noqa: E402

SHARDS = 40


class Dask(Test):
    def test_a_million_points_survive_a_killed_worker(self):
        grid = dask_sweep.GRID
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            client.wait_for_workers(2)
            client.upload_file(dask_sweep.__file__)
            names = [f"{i + 1}/{SHARDS}" for i in range(SHARDS)]
            futures = client.map(dask_sweep.part, names, model=dask_sweep.MODEL, gpu=dask_sweep.GPU, grid=grid, pure=False)
            wait(futures[:6], return_when="FIRST_COMPLETED")
            victim = next(iter(client.run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)  # with the shards that it has finished, and the one that it works on
            whole = roofcast.Sweep.concat(client.gather(futures))
            survivors = set(client.run(os.getpid).values())
        self.assertNotIn(victim, survivors)
        serial = roofcast.sweep(dask_sweep.MODEL, dask_sweep.GPU, **grid)
        self.assertEqual(len(serial), 1_000_000)
        for key in serial.keys():
            numpy.testing.assert_array_equal(whole[key], serial[key])


if __name__ == "__main__":
    unittest.main()
