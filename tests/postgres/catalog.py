"""What a database has in the schema `postroad`, as lines that can be compared."""

import asyncpg

QUERIES = (
    "select 'function ' || pg_get_functiondef(oid) from pg_proc where pronamespace = $1::regnamespace",
    "select 'index ' || indexdef from pg_indexes where schemaname = $1",
    "select 'view ' || viewname || ': ' || definition from pg_views where schemaname = $1",
    """select 'trigger ' || pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = t.tgrelid
        where c.relnamespace = $1::regnamespace and not t.tgisinternal""",
    """select format('constraint of %s: %s', conrelid::regclass, pg_get_constraintdef(oid))
         from pg_constraint where connamespace = $1::regnamespace""",
    """select format('options of %s: %s', relname, reloptions) from pg_class
        where relnamespace = $1::regnamespace and relkind in ('r', 'p')""",
    # Not the order of columns: what is added to a table comes last in a road that was moved on.
    """select format('column of %s: %s %s %s %s %s %s %s %s', c.relname, a.attname,
                     format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
                     a.attstorage, pg_get_expr(d.adbin, d.adrelid),
                     (select o.collname from pg_collation o where o.oid = a.attcollation))
         from pg_class c join pg_attribute a on a.attrelid = c.oid
         left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
        where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p', 'v') and a.attnum > 0
          and not a.attisdropped""",
)


async def catalog(dsn: str) -> list[str]:
    """Everything that makes the schema, in one order."""
    raw = await asyncpg.connect(dsn)
    try:
        await raw.execute("set search_path = postroad")
        found = [await raw.fetch(query.replace("$1", "'postroad'")) for query in QUERIES]
        return sorted(line for rows in found for (line,) in rows)
    finally:
        await raw.close()
