"""Spreads a sweep over the workers of a Dask cluster.

    python dask_sweep.py                                  two workers on this machine
    python dask_sweep.py --scheduler tcp://head:8786      a cluster that runs, whose workers have roofcast installed

Each task predicts one shard of the grid. Dask predicts a shard again when the worker that had it is lost.
"""

import argparse

import roofcast
from distributed import Client, LocalCluster

# A million points: an encoder on a GPU by batch and sequence length.
MODEL, GPU = "bert-base", "h100-sxm5-80gb"
GRID = {"batch": "1:2000", "prompt": "1:500", "columns": ["batch", "prompt_tokens", "latency_ms", "throughput_per_s", "memory_gb"]}


def part(shard, model, gpu, grid):
    """One shard, on the one core of a worker's thread."""
    return roofcast.sweep(model, gpu, shard=shard, threads=1, **grid)


def sweep_on(client, model, gpu, grid, shards):
    """The whole grid, predicted by the workers of `client` in `shards` tasks."""
    names = [f"{i + 1}/{shards}" for i in range(shards)]
    futures = client.map(part, names, model=model, gpu=gpu, grid=grid, pure=False)
    return roofcast.Sweep.concat(client.gather(futures))


def main():
    parser = argparse.ArgumentParser(description="Spreads a sweep of a million points over Dask.")
    parser.add_argument("--scheduler", help="address of a scheduler (default: two workers on this machine)")
    parser.add_argument("--shards", type=int, default=100, help="tasks (default: 100)")
    arguments = parser.parse_args()
    cluster = None if arguments.scheduler else LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(arguments.scheduler or cluster) as client:
        sweep = sweep_on(client, MODEL, GPU, GRID, arguments.shards)
    if cluster is not None:
        cluster.close()
    frame = sweep.to_pandas()
    best = frame.loc[frame.throughput_per_s.idxmax()]
    print(f"{len(frame)} points; most sequences/s: {best.throughput_per_s:.0f} at batch {best.batch:.0f}, {best.prompt_tokens:.0f} tokens")


if __name__ == "__main__":
    main()
