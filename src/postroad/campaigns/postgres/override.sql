-- A campaign does not halt by itself any more.
update postroad.campaign set halts = 0 where id = $1
