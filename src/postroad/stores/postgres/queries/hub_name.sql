-- Who the hub is.
select name from postroad.hub
