import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.net.URI;
import java.sql.SQLException;
import javax.sql.DataSource;

/** The items of the workload db, through HikariCP and PostgreSQL's JDBC driver. */
class Items {
    private static final String QUERY = "SELECT id, name, price FROM item WHERE id = ?";

    private final DataSource pool;

    /** `address` is that of DATABASE_URL; without one there are no items to ask for. */
    Items(String address) {
        pool = address == null ? null : connect(URI.create(address));
    }

    private static DataSource connect(URI address) {
        var config = new HikariConfig();
        config.setJdbcUrl("jdbc:postgresql://" + address.getHost() + ":" + address.getPort() + address.getPath());
        config.setUsername(address.getUserInfo());
        config.setMaximumPoolSize(16);
        config.setInitializationFailTimeout(-1);  // the database may start later
        return new HikariDataSource(config);
    }

    /** The item, or null. */
    Data.Item find(int id) throws SQLException {
        try (var connection = pool.getConnection(); var query = connection.prepareStatement(QUERY)) {
            query.setInt(1, id);
            try (var rows = query.executeQuery()) {
                return rows.next() ? new Data.Item(rows.getInt(1), rows.getString(2), rows.getDouble(3)) : null;
            }
        }
    }
}
