-- Ring.
select pg_notify('postroad', $1)
