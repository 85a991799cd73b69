-- Rings the bell for all who listen.
select pg_notify('postroad', $1)
