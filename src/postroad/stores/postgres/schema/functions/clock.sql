-- The times. The database's clock is the only clock of the fleet.

create or replace function never() returns bigint language sql immutable parallel safe
  return 4611686018427387904;

create or replace function now_ms() returns bigint language sql stable parallel safe
  as $$ select floor(extract(epoch from clock_timestamp()) * 1000)::bigint $$;

-- Volatile: it is read after the ledgers are locked, and must not be from before that wait.
create or replace function now_us() returns bigint language sql volatile parallel safe
  as $$ select floor(extract(epoch from clock_timestamp()) * 1000000)::bigint $$;
