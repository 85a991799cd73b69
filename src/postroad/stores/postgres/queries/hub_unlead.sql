-- The hub goes: the next one need not wait.
delete from postroad.hub where holder = $1 returning holder
