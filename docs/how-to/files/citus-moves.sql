-- Lets shards move while their storages are written. Run it on every node, in the database of the service, as a
-- superuser: psql -d repository -f citus-moves.sql
--
-- Citus copies the changes that happen during a move by logical replication, with a role that it creates for each move
-- and drops afterwards. Row-level security would refuse these changes, since they belong to no scope.
SET citus.enable_ddl_propagation = off;

CREATE OR REPLACE FUNCTION public.let_shards_move() RETURNS event_trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET citus.enable_ddl_propagation = off AS $$
DECLARE
    mover name;
BEGIN
    FOR mover IN
        SELECT r.rolname FROM pg_subscription s JOIN pg_roles r ON r.oid = s.subowner
        WHERE r.rolname ~ '^citus_shard_(move|split)_subscription_role_' AND NOT r.rolbypassrls
    LOOP
        EXECUTE format('ALTER ROLE %I BYPASSRLS', mover);
    END LOOP;
END $$;

DROP EVENT TRIGGER IF EXISTS let_shards_move;
CREATE EVENT TRIGGER let_shards_move ON ddl_command_end WHEN TAG IN ('ALTER SUBSCRIPTION')
    EXECUTE FUNCTION public.let_shards_move();
