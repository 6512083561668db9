"""Rows as tables."""

# Title, field, how to write it.
COLUMNS = [
    ("setting", "setting", str), ("threads", "threads", str), ("candidate", "candidate", str),
    ("sentences/s", "sentences_per_second", "{:.1f}".format),
    ("latency ms", "latency_ms", "{:.2f}".format),
    ("p99 ms", "latency_p99_ms", "{:.2f}".format),
    ("tokens", "tokens", str), ("peak MiB", "peak_mib", "{:.0f}".format),
    ("our peak / theirs", "our_peak", "{:.2f}".format),
    ("compile s", "compile_s", "{:.1f}".format),
    ("attnc's peak MiB", "compile_mib", "{:.0f}".format),
    ("code and weights MiB", "size_mib", "{:.1f}".format),
    ("ready ms", "ready_ms", "{:.1f}".format),
    ("first token ms", "first_token_ms", "{:.1f}".format),
    ("their time / ours", "ratio", "{:.2f}".format),
    ("note", "note", str),
]


def table(title, columns, rows):
    """Markdown whose columns line up, so that it is readable as it is."""
    cells = [[write(row[field]) if row.get(field) is not None else ""
              for _, field, write in columns] for row in rows]
    used = [i for i in range(len(columns)) if any(line[i] for line in cells)]
    lines = [[columns[i][0] for i in used], None] + [[line[i] for i in used] for line in cells]
    widths = [max(len(line[i]) for line in lines if line) for i in range(len(used))]
    text = "".join("| " + " | ".join(
        cell.ljust(width) for cell, width in zip(line or ["-" * w for w in widths], widths))
        + " |\n" for line in lines)
    return f"{title}\n\n{text}"


def pivot(rows):
    """A line for each setting, with our time and, for each other candidate, its
    time by ours."""
    lines, others = {}, []
    for row in rows:
        key = row["setting"], row["threads"]
        line = lines.setdefault(key, {"setting": key[0], "threads": key[1]})
        if row.get("note"):
            line.setdefault("note", "")
            line["note"] += f"{row['candidate']}: {row['note']}. "
        elif "ratio" in row:
            if row["candidate"] not in others:
                others.append(row["candidate"])
            line[row["candidate"]] = row["ratio"]
        else:
            line["microseconds"] = row["microseconds"]
    columns = [("setting", "setting", str), ("threads", "threads", str),
               ("attn, us", "microseconds", "{:.1f}".format)]
    columns += [(f"{name} / attn", name, "{:.2f}".format) for name in others]
    return columns + [("note", "note", str)], list(lines.values())


def rows_table(title, rows):
    if any("microseconds" in row for row in rows):
        columns, rows = pivot(rows)
    else:
        columns = COLUMNS
    return table(f"### {title}", columns, rows)
