"""Rollouts and learning on the machines of a Ray cluster: `--executor ray`.

    opening.py     a cluster for a store
    placement.py   a world and strategies whose work is done there
    door.py        Ray; one call is one task, tried once more where its worker is lost
    work.py        what runs on a worker, texts in and texts out

No scheduler of ours: Ray places tasks, restarts workers and moves what they return.
"""
