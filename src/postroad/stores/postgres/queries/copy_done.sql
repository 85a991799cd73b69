-- What a copy that is whole has written: its tables, what its source held, and when it ended.
select name, rows, source, max(at) over () as ended_at from postroad.copied
