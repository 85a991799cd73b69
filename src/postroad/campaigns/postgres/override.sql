-- A campaign does not halt by itself any more.
update postroad.campaign set halts = false where id = $1
