#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every file of a batch analysis is there and is what it says: tables with exactly their columns and a number in each
cell, pictures that are XML.

    profile_files.py FOLDER   checks each *_node_stats.csv with what belongs to it, and each *_batches.csv; exits 1
                              where one is wrong or none is there
    profile_files.py --self   plants a fault of each kind and checks that it is found
"""
import csv
import math
import sys
import xml.etree.ElementTree as xml_tree

import planted

NODES = ("rank,node_name,node_type,gtype,median_run_time_s,median_peak_mem_bytes,median_active_mem_bytes,"
         "device").split(",")
ACTIVATIONS = ("activation_name,creation_rank,last_fw_use_rank,first_bw_use_rank,last_bw_use_rank,"
               "median_mem_size_bytes,inactive_time_s,recomp_time_s,recomp_memory_bytes").split(",")
PICTURES = ("run_time", "node_memory", "memory")
BATCH_PICTURES = ("batch_peak_and_time", "batch_breakdown", "batch_memory")
TYPES, PARTS = {"PARAM", "ACT", "GRAD", "OPT_STATE", "OTHER"}, {"forward", "backward", "other"}
WORDS = {"node_name", "node_type", "gtype", "device", "activation_name"}


def rows_of(path, columns, wrong):
    """The rows of a table, cells that are no words as numbers."""
    with open(path, newline="") as file:
        lines = list(csv.reader(file))
    if not lines or (columns and lines[0] != columns):
        wrong.append(f"{path.name}: other columns")
        return []
    rows = []
    for number, line in enumerate(lines[1:], 2):
        row = dict(zip(lines[0], line))
        try:
            numbers = {name: float(cell) for name, cell in row.items() if name not in WORDS}
        except ValueError:
            numbers = {"no number": math.nan}
        if len(line) != len(lines[0]) or "" in line or not all(0 <= value < math.inf for value in numbers.values()):
            wrong.append(f"{path.name}:{number}: a cell is missing, empty, no number, negative or not finite")
            continue
        rows.append(row | numbers)
    return rows


def check_pictures(path, end, names, wrong):
    for name in names:
        picture = path.with_name(path.name.replace(end, f"{name}.svg"))
        try:
            if not xml_tree.parse(picture).getroot().tag.endswith("svg"):
                wrong.append(f"{picture.name}: no picture")
        except (OSError, xml_tree.ParseError) as problem:
            wrong.append(f"{picture.name}: {problem}")


def check_pair(path, wrong):
    nodes = rows_of(path, NODES, wrong)
    for number, node in enumerate(nodes):
        if node["rank"] != number or node["node_type"] not in TYPES or node["gtype"] not in PARTS:
            wrong.append(f"{path.name}: rank {number} is not what it says")
        if node["median_peak_mem_bytes"] < node["median_active_mem_bytes"]:
            wrong.append(f"{path.name}: the peak of rank {number} is below what is active")
    check_pictures(path, "node_stats.csv", PICTURES, wrong)
    other = path.with_name(path.name.replace("_node_stats.csv", "_activation_stats.csv"))
    if not other.exists():
        wrong.append(f"{other.name}: is missing")
        return
    for row in rows_of(other, ACTIVATIONS, wrong):
        uses = [row[name] for name in ACTIVATIONS[1:5]]
        if uses != sorted(uses) or not uses[1] < uses[2] < len(nodes):
            wrong.append(f"{other.name}: the uses of {row['activation_name']} are out of order")


def check_batches(path, wrong):
    for row in (rows := rows_of(path, None, wrong)):
        parts = sum(row[name] for name in ("param_bytes", "act_bytes", "grad_bytes", "opt_state_bytes", "other_bytes"))
        if parts != row["counted_peak_bytes"]:
            wrong.append(f"{path.name}: the parts of batch {row['batch']:.0f} do not add up to the counted peak")
    if not rows:
        wrong.append(f"{path.name}: no batches")
    check_pictures(path, "batches.csv", BATCH_PICTURES, wrong)


def faults(folder):
    pairs, batches = sorted(folder.glob("*_node_stats.csv")), sorted(folder.glob("*_batches.csv"))
    wrong = [] if pairs else [f"{folder}: holds no profile"]
    for path in pairs:
        check_pair(path, wrong)
    for path in batches:
        check_batches(path, wrong)
    print(f"{len(pairs)} profiles and {len(batches)} analyses")
    return wrong


SOUND = {
    "x_node_stats.csv": ",".join(NODES)
                        + '\n0,"f()",ACT,forward,1e-06,8,0,cpu\n1,loss(),OTHER,other,0,16,8,cpu\n'
                          '2,f.backward(output),GRAD,backward,2e-06,16,16,cpu\n3,output,OTHER,other,0,0,0,cpu\n',
    "x_activation_stats.csv": ",".join(ACTIVATIONS) + "\nf,0,1,2,2,8,0,1e-06,8\n",
    "x_batches.csv": "batch,counted_peak_bytes,param_bytes,act_bytes,grad_bytes,opt_state_bytes,other_bytes\n"
                     "4,16,0,8,8,0,0\n",
    **{f"x_{name}.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>" for name in PICTURES + BATCH_PICTURES},
}
NODE_TABLE = "x_node_stats.csv"
PLANTED = [
    (NODE_TABLE, "rank,", "number,", "other columns"), (NODE_TABLE, "1e-06", "nan", "not finite"),
    (NODE_TABLE, "f()", "", "empty"), (NODE_TABLE, "ACT", "ACTS", "rank 0 is not"),
    (NODE_TABLE, ",16,16,", ",15,16,", "below what is active"), (NODE_TABLE, "1e-06", "soon", "no number"),
    ("x_activation_stats.csv", "0,1,2,2", "0,2,2,2", "out of order"),
    ("x_activation_stats.csv", "", None, "is missing"),
    ("x_batches.csv", ",8,8,", ",8,9,", "do not add up"), ("x_memory.svg", "/>", ">", "x_memory.svg: "),
]

sys.exit(planted.main(faults, SOUND, PLANTED, "they are what they say"))
